mod backup;
mod derived;
mod operator;
mod roles;
mod sabotage;
mod two_row_movements;
