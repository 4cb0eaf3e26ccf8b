mod backup;
mod derived;
mod operator;
mod roles;
mod sabotage;
mod sealing;
mod two_row_movements;
mod verification;
