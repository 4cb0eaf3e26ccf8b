mod backup;
mod derived;
mod operator;
mod roles;
mod sabotage;
